# The service with the default encoder inside: nothing is downloaded when it runs. For processors only.
FROM python:3.12-slim@sha256:57cd7c3a7a273101a6485ba99423ee568157882804b1124b4dd04266317710de AS build
WORKDIR /source
RUN python -m venv /opt/turnlens
ENV PATH=/opt/turnlens/bin:$PATH
COPY constraints.txt requirements.lock ./
# First, so that a change of the source does not fetch it again.
RUN pip install --no-cache-dir --require-hashes --no-deps -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --no-deps . && pip check

FROM python:3.12-slim@sha256:57cd7c3a7a273101a6485ba99423ee568157882804b1124b4dd04266317710de
RUN useradd --create-home --uid 10001 turnlens && install --directory --owner turnlens /data
COPY --from=build /opt/turnlens /opt/turnlens
ENV PATH=/opt/turnlens/bin:$PATH \
    HF_HUB_OFFLINE=1 \
    HF_HOME=/tmp/huggingface \
    PYTHONUNBUFFERED=1 \
    TURNLENS_HOST=0.0.0.0 \
    TURNLENS_KEYS=/run/secrets/turnlens-keys
USER turnlens
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=2m \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health/live', timeout=4)"]
ENTRYPOINT ["turnlens"]
CMD ["serve", "--store", "/data/talks"]

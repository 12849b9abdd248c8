"""`python -m turnwise`, and with it `torchrun -m turnwise`."""

from turnwise.cli.main import main

if __name__ == "__main__":
    main()

"""`python -m turnlens`, and with it `torchrun -m turnlens`."""

from turnlens.cli.main import main

if __name__ == "__main__":
    main()

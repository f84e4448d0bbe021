"""`python -m tpn2f` is `tpn2f`."""

from tpn2f.cli import main

if __name__ == "__main__":
    main()

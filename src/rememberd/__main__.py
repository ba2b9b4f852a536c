"""`python -m rememberd` is the command line. It must hold no logic of its own."""

from rememberd.cli import main

if __name__ == "__main__":
    main()

from laneway.cli import main

main()

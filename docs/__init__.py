"""The pages, and the program that writes those of them that the code decides."""

"""The known algorithms: one file each, a program and the function that users call."""

"""The built-in algorithms: one file each, with a program or loop and the public function."""

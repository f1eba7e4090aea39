"""Checks outside the test suite: small graphs for the sanitizer, memory leaks, how soon calls stop."""

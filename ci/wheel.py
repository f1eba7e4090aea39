"""The tag of the wheel: any Python 3 on Linux, of the processors that RAPIDS and Numba have wheels for.

The library has no extension modules, but locks files by `fcntl` and reads `/proc`: elsewhere pip
refuses the wheel by its name, instead of an import that fails.
"""

from setuptools.command.bdist_wheel import bdist_wheel

PLATFORMS = "manylinux_2_17_x86_64.manylinux_2_17_aarch64"


class LinuxWheel(bdist_wheel):
    """Build a wheel of Python files for Linux."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tags of Python, its binary interface and the platforms."""
        return "py3", "none", PLATFORMS

"""Print "yes" if the locks can be installed: Linux x86-64 with glibc, and Python 3.11."""

import platform
import sys

if (platform.system(), platform.machine(), platform.libc_ver()[0]) == ("Linux", "x86_64", "glibc"):
    print("yes" if sys.version_info[:2] == (3, 11) else "no")

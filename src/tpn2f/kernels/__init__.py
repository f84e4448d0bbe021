"""The two recurrences of TP-N2F and the plain LSTM of its comparisons, each in two forms with one signature.

`reference` reads like the equations and is the specification. `fused` is the fast one, with a hand-written backward,
and must equal it in values and in every gradient. Neither knows parameters or words.

All take the projections of their inputs as a table with one row per input symbol, and indices into it: a symbol is
projected once per batch, however often it occurs.
"""

import ctypes
import sys
from types import ModuleType

from tpn2f.kernels import fused, reference
from tpn2f.kernels.reference import AttentionScan, TPRScan

__all__ = ["AttentionScan", "TPRScan", "fused", "keep_memory", "load_kernels", "reference"]


def load_kernels(name: str) -> ModuleType:
    """The module of that name; it has `tpr_scan`, `attention_scan` and `lstm_scan`."""
    known = {"fused": fused, "reference": reference}
    if name not in known:
        raise ValueError(f"no kernels are called {name!r}; there are {', '.join(known)}")
    return known[name]


def keep_memory() -> bool:
    """Asks the C library to keep large freed buffers for the next step; False where it cannot be asked.

    glibc gives them back to the system and takes them again at every step, page by page: about a tenth of a training
    step on a CPU. It changes the whole process, so a program calls it once, and the library never does.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    m_trim_threshold, m_mmap_threshold, limit = -1, -3, 2**31 - 1
    return bool(mallopt(m_mmap_threshold, 2**30)) and bool(mallopt(m_trim_threshold, limit))

"""Training that resumes bit for bit: the loop, its optimizer, several processes, hardware, and what it writes down."""

from tpn2f.training.loop import Event, Trainer

__all__ = ["Event", "Trainer"]

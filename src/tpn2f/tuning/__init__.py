"""The search for better settings: trials, the database they share, and the settings that may vary."""

from tpn2f.tuning.trials import Best, TrialEvent, Tuner

__all__ = ["Best", "TrialEvent", "Tuner"]

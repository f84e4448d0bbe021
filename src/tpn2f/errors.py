"""The errors that users can get: one family, so that the command line shows each of them as a single line."""


class N2FError(Exception):
    """An error that the user can act on."""


class ProgramSyntaxError(N2FError):
    """A text or tree that is not a program; says where it stops being one."""


class ExecutionError(N2FError):
    """A program that is well formed but cannot be run on this problem."""


class LimitError(ExecutionError):
    """A program that would take more steps, depth, length or digits than it is given."""


class DataError(N2FError):
    """A data set that is missing, damaged, or not in the expected form."""


class NotAQuestion(DataError):
    """A text that is no question for this language: nothing is wrong with how it was given."""


class DomainError(N2FError):
    """A domain that cannot be found or does not keep the contract of `tpn2f.domain.Domain`."""


class ConfigError(N2FError):
    """A setting that does not exist, has the wrong type, or makes no sense."""


class DivergedError(N2FError):
    """A training whose numbers became infinite: other settings may help, the same ones will not."""


class CheckpointError(N2FError):
    """A checkpoint that is damaged, incomplete, or belongs to another run."""

"""The clock of a run: it goes on from what was spent before, and what was never counted stays unknown."""

from types import SimpleNamespace

from tpn2f.training.clock import Clock


def test_a_clock_goes_on_from_what_was_spent():
    costs = SimpleNamespace(seconds=100.0, cpu_seconds=50.0)
    clock = Clock(costs, processes=2)
    sum(range(200_000))
    now = clock.tell(costs)
    assert now > clock.started and costs.seconds == 100.0 + now - clock.started
    assert costs.cpu_seconds > 50.0


def test_what_was_not_counted_stays_unknown():
    costs = SimpleNamespace(seconds=1.0, cpu_seconds=None)
    Clock(costs).tell(costs)
    assert costs.cpu_seconds is None and costs.seconds > 1.0

"""The grants in bulk against the text's loop, turn by turn."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.queue.share import share
from fairlead.model.jobs import UNSET
from tests.queue.build import J, Q, Tables, tables
from tests.queue.reference import Reference

AMOUNTS = st.tuples(st.integers(0, 6), st.integers(0, 6))


@st.composite
def worlds(draw: st.DrawFn, most_replicas: int = 40) -> Tables:
    """A few queues, namespaces and jobs over two resources; room for some of what is asked."""
    bound = st.one_of(st.just(UNSET), st.integers(0, 120))
    queues = draw(
        st.lists(
            st.builds(
                _queue,
                st.integers(1, 5),
                st.tuples(bound, bound),
                st.tuples(st.sampled_from([0, 0, 5]), st.sampled_from([0, 0, 3])),
                st.sampled_from([0, 0, 0, 1]),
            ),
            min_size=1,
            max_size=4,
        )
    )
    weights = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    jobs = draw(
        st.lists(
            st.builds(
                _job,
                st.integers(0, len(queues) - 1),
                st.integers(0, len(weights) - 1),
                st.integers(1, most_replicas),
                AMOUNTS,
                st.integers(0, 8),
                st.sampled_from([0, 0, 0, 5]),
                st.integers(0, 6),
            ),
            min_size=1,
            max_size=10,
        )
    )
    return tables((draw(st.integers(20, 400)), draw(st.integers(20, 400))), queues, weights, jobs)


def _queue(weight: int, capability: tuple[int, int], guarantee: tuple[int, int], priority: int) -> Q:
    return Q(weight=weight, capability=capability, guarantee=guarantee, priority=priority)


def _job(
    queue: int, namespace: int, replicas: int, request: tuple[int, int], minimum: int, priority: int, running: int
) -> J:
    return J(
        queue=queue,
        namespace=namespace,
        replicas=replicas,
        request=request,
        minimum=min(minimum, replicas),
        priority=priority,
        running=min(running, replicas) if running < 3 else 0,
    )


@given(worlds())
def test_share_equals_the_loop_turn_by_turn(world: Tables) -> None:
    """Every job is admitted exactly as often as by the literal loop."""
    decision = share(*world)
    reference = Reference(*world[:3], world.whole.tolist(), list(decision.exact_deserved))
    assert [row.admitted for row in decision.jobs] == reference.run()

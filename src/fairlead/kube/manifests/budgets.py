"""PodDisruptionBudgets to budgets."""

from collections.abc import Iterable, Iterator

from fairlead.kube.codec.shapes import selector
from fairlead.kube.objects.policy import PodDisruptionBudget
from fairlead.levels.tier.minimum import parse_minimum
from fairlead.model.budgets import Budget
from fairlead.model.errors import InputError


def budgets(found: Iterable[PodDisruptionBudget], errors: list[InputError]) -> Iterator[Budget]:
    """Every budget that can be read; without a bound it lets none be missing, as its controller has it."""
    for each in found:
        place = f"PodDisruptionBudget {each.metadata.namespace}/{each.metadata.name}: spec"
        spec = each.spec
        away = spec.max_unavailable is not None
        field, written = ("maxUnavailable", spec.max_unavailable) if away else ("minAvailable", spec.min_available)
        number = parse_minimum("100%" if written is None else str(written))
        if number is None:
            errors.append(InputError(f"{place}.{field}", f"is {written!r}; expected a number or a percentage"))
            continue
        yield Budget(
            name=each.metadata.name,
            namespace=each.metadata.namespace,
            selector=selector(spec.selector),
            least=None if away else number.number,
            missing=number.number if away else None,
            percent=number.percent,
        )

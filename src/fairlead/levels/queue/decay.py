"""Usage of the past, halved every half-life."""


def decayed(amount: int, age: int, half_life: int) -> int:
    """What still counts of `amount` after `age` seconds, rounded down.

    After whole half-lives exactly a half, a quarter, …; in between the straight line from one to the next, so
    that every machine agrees. An age below 0 counts as 0.
    """
    halvings, rest = divmod(max(0, age), half_life)
    if halvings >= amount.bit_length():
        return 0
    return amount * (2 * half_life - rest) // (2 * half_life << halvings)

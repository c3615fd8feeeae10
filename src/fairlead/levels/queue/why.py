"""What stops a job that waits: the stage, with its numbers."""

from fairlead.levels.queue import reasons
from fairlead.levels.queue.grant import Block
from fairlead.levels.queue.state import State
from fairlead.model.amounts import quantity
from fairlead.model.reasons import Finding, because


class Why:
    """Findings for blocked jobs, told from the state after the last grant."""

    def __init__(self, state: State, blocks: dict[int, Block]) -> None:
        self.state = state
        self.blocks = blocks

    def finding(self, job: int) -> Finding:
        """The stage at which the job's next step fails."""
        block = self.blocks[job]
        if block.lack is None:
            raise NotImplementedError
        world = self.state.world
        lack = block.lack
        kind = world.jobs.resources[lack.resource]
        asked = quantity(kind, block.step.need[lack.resource])
        left = quantity(kind, lack.left)
        if lack.queue != world.tree.whole:
            most = quantity(kind, self.state.ledger.most[lack.queue][lack.resource])
            return because(
                reasons.QUEUE_CAPABILITY,
                count=block.step.count,
                asked=asked,
                resource=kind,
                queue=world.queues.names[lack.queue],
                most=most,
                left=left,
            )
        queue = self.state.queue_of[job]
        return because(
            reasons.QUEUE_SHARE,
            queue=world.queues.names[queue],
            held=quantity(kind, self.state.ledger.used[queue][lack.resource]),
            resource=kind,
            fair=quantity(kind, int(world.deserved[queue][lack.resource])),
            left=left,
            asked=asked,
        )

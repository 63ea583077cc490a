# /// script
# dependencies = ["openai-agents[realtime]"]
# ///
"""A phone line with a transport of its own: a question, a tool with approval, a handoff, and hanging up."""
import asyncio

from agents import function_tool
from agents.realtime import RealtimeAgent, RealtimeModel, RealtimeRunner
from agents.realtime.model_events import (
    RealtimeModelAudioEvent,
    RealtimeModelConnectionStatusEvent,
    RealtimeModelToolCallEvent,
    RealtimeModelTurnEndedEvent,
    RealtimeModelTurnStartedEvent,
)


class Line(RealtimeModel):
    def __init__(self):
        self.listeners, self.sent = [], []

    async def connect(self, options):
        await self.tell(RealtimeModelConnectionStatusEvent(status="connected"))

    def add_listener(self, listener):
        self.listeners.append(listener)

    def remove_listener(self, listener):
        self.listeners.remove(listener)

    async def send_event(self, event):
        self.sent.append(type(event).__name__)

    async def close(self):
        await self.tell(RealtimeModelConnectionStatusEvent(status="disconnected"))

    async def tell(self, event):
        for listener in list(self.listeners):
            await listener.on_event(event)


@function_tool
def opening_hours(day: str) -> str:
    return f"9 to 5 on {day}"


async def main():
    line = Line()
    bills = RealtimeAgent(name="bills", instructions="Bills.")
    desk = RealtimeAgent(name="desk", instructions="Help.", tools=[opening_hours], handoffs=[bills])
    session = await RealtimeRunner(desk, model=line).run()
    heard = []
    spoken = asyncio.Event()

    async def listen():
        async for event in session:
            heard.append(event.type)
            if event.type in ("tool_end", "handoff"):
                spoken.set()

    async with session:
        reader = asyncio.create_task(listen())
        await session.send_message("When are you open?")
        await line.tell(RealtimeModelTurnStartedEvent())
        await line.tell(RealtimeModelToolCallEvent(name="opening_hours", call_id="c1", arguments='{"day": "Monday"}'))
        await asyncio.wait_for(spoken.wait(), 5)
        spoken.clear()
        sound = {"data": b"\0\1" * 200, "response_id": "r1", "item_id": "i1", "content_index": 0}
        await line.tell(RealtimeModelAudioEvent(**sound))
        await line.tell(RealtimeModelToolCallEvent(name="transfer_to_bills", call_id="c2", arguments="{}"))
        await asyncio.wait_for(spoken.wait(), 5)
        await line.tell(RealtimeModelTurnEndedEvent())
        await session.interrupt()
    reader.cancel()
    print([kind for kind in heard if kind in ("tool_start", "tool_end", "handoff", "audio")])
    print("answers:", line.sent.count("RealtimeModelSendToolOutput"))


asyncio.run(main())

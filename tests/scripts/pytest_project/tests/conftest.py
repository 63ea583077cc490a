import pytest
from scripted import Scripted, call, say

from agents import Agent, function_tool


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    print("paid", amount)
    return f"paid {amount}"


@pytest.fixture
def clerk():
    return Agent(name="clerk", model=Scripted(call(amount=100), say("Paid.")), tools=[pay])


@pytest.fixture
def broken():
    raise RuntimeError("this fixture never works")

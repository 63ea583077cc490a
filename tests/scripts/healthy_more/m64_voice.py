# /// script
# dependencies = ["openai-agents[voice]"]
# ///
"""A voice pipeline whose ears and mouth are stand-ins: one turn, and a stream of two."""
import asyncio

import numpy as np
from agents.voice import (
    AudioInput,
    StreamedAudioInput,
    StreamedTranscriptionSession,
    STTModel,
    TTSModel,
    VoicePipeline,
    VoicePipelineConfig,
    VoiceWorkflowBase,
)


class Turns(StreamedTranscriptionSession):
    async def transcribe_turns(self):
        for words in ("first", "second"):
            yield words

    async def close(self):
        pass


class Ears(STTModel):
    model_name = "ears"

    async def transcribe(self, input, settings, trace_include_sensitive_data, trace_include_sensitive_audio_data):
        return "what time is it?"

    async def create_session(self, input, settings, trace_include_sensitive_data, trace_include_sensitive_audio_data):
        return Turns()


class Mouth(TTSModel):
    model_name = "mouth"

    async def run(self, text, settings):
        for _ in range(3):
            yield np.zeros(400, dtype=np.int16).tobytes()


class Echo(VoiceWorkflowBase):
    async def run(self, transcription):
        yield f"You said: {transcription}. "
        yield "Is that so?"


async def play(given):
    pipeline = VoicePipeline(
        workflow=Echo(),
        stt_model=Ears(),
        tts_model=Mouth(),
        config=VoicePipelineConfig(tracing_disabled=True),
    )
    result = await pipeline.run(given)
    told, size = [], 0
    async for event in result.stream():
        if event.type == "voice_stream_event_audio":
            size += len(event.data)
        else:
            told.append(event.event if event.type == "voice_stream_event_lifecycle" else event.type)
    print(told, size)


async def main():
    await play(AudioInput(buffer=np.zeros(2400, dtype=np.int16)))
    streamed = StreamedAudioInput()
    await streamed.add_audio(np.zeros(2400, dtype=np.int16))
    await play(streamed)


asyncio.run(main())

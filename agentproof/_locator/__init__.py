"""What `explain` runs beside the recorder (standard library only).

It stands in an archive of its own: that of the recorder, with these modules as `locator` and another start.
An ordinary recording never has it, and nothing of it enters journal, traces, manifest or ids.
"""

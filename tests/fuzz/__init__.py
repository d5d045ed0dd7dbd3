"""Fuzzing: whatever comes in, out comes a proper answer or an error that names the problem.

tables, labels, models, options   what may come in: small frozen specs, drawn by hypothesis, built by plain functions
answers                           what a proper answer is, for every kind of result
outcome                           one call, judged: answer, refusal or surprise
cases                             one call: all of that together
properties, plans, searching      the public functions
streams                           tables that come piece by piece
pages, pictures                   the report and the displays
commands                          the command line on files of any content
sheets, questions, spoken         each command with legal options, on tables as people keep them; what it may say

A spec prints as the call that makes it, so that a surprise can be pasted into a regression test.
"""

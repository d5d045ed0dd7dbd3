"""Fuzzing: whatever comes in, out comes a proper answer or an error that names the problem.

tables, labels, models, options   what may come in: small frozen specs, drawn by hypothesis, built by plain functions
answers                           what a proper answer is, for every kind of result
outcome                           one call, judged: answer, refusal or surprise
cases                             one call: all of that together
properties, plans, commands       the public functions, and the command line

A spec prints as the call that makes it, so that a surprise can be pasted into a regression test.
"""

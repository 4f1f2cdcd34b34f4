"""Measures of attention and of outputs, with one file per subject.

Other rooms share these measures. Those of a single task are in `areaviz.lab.tasks`, and those
of whole sets of examples are in `areaviz.sets`.
"""

"""Predictors: one file each."""

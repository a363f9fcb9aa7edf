"""Trains on `tf.data` whose elements come from a function of Python that asks a slow service."""

import sys
import time

import numpy
import tensorflow as tf


def fetch(index):
    time.sleep(0.003)
    return numpy.full(16, float(index) % 7, "float32")


def element(index):
    made = tf.py_function(fetch, [index], tf.float32)
    made.set_shape([16])
    return made


def main():
    calls = tf.data.AUTOTUNE if len(sys.argv) > 1 else None
    data = tf.data.Dataset.range(2000).map(element, num_parallel_calls=calls).batch(16)
    if calls:
        data = data.prefetch(tf.data.AUTOTUNE)
    weights = tf.Variable(tf.zeros([16, 1]))

    @tf.function
    def step(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((batch @ weights - 1.0) ** 2)
        weights.assign_sub(0.001 * tape.gradient(loss, weights))
        return loss

    for epoch in range(100):
        for batch in data:
            loss = step(batch)
        print("epoch", epoch, "loss", float(loss))


if __name__ == "__main__":
    main()

"""A loop over `tf.data` with a function of Python, with a planted stall."""

import stall
import tensorflow as tf


def element(index):
    return tf.py_function(lambda index: float(stall.element(int(index))), [index], tf.float32)


def main():
    data = tf.data.Dataset.range(stall.count()).map(element).batch(stall.BATCH)
    for epoch in range(stall.epochs()[0]):
        stall.begin_epoch()
        for number, batch in enumerate(data):
            stall.step(number)


if __name__ == "__main__":
    main()

import numpy as np

from turnlens.service.worker import SHORT, CallJob, JobQueue, RowsJob


def rows(*lengths: int) -> RowsJob:
    return RowsJob([[1] * length for length in lengths])


def queue_of(*jobs: RowsJob | CallJob) -> JobQueue:
    queue = JobQueue()
    for job in jobs:
        queue.append(job)
    return queue


def test_rows_of_jobs_are_batched_and_take_turns() -> None:
    large, small, last = rows(4, 4, 4, 4), rows(2), rows(9)
    queue = queue_of(large, small, last)
    assert queue.take(10) == [(large, [0, 1]), (small, [0])]
    assert queue.take(10) == [(last, [0])]
    assert queue.take(10) == [(large, [2, 3])]
    assert len(queue) == 0


def test_a_short_job_waits_for_one_long_slice() -> None:
    long = [rows(*[SHORT] * 3) for _ in range(4)]
    queue = queue_of(*long)
    assert queue.take(SHORT) == [(long[0], [0])]
    short = [rows(2), rows(3), CallJob(lambda: None, tokens=4)]
    for job in short:
        queue.append(job)
    assert queue.take(SHORT) == [(short[0], [0]), (short[1], [0])]
    assert queue.take(SHORT) == [(long[1], [0])]  # long jobs get every other turn
    assert queue.take(SHORT) is short[2]
    assert [queue.take(SHORT)[0][0] for _ in range(4)] == [long[2], long[3], long[0], long[1]]


def test_a_row_longer_than_a_batch_goes_alone() -> None:
    long, short = rows(50), rows(1)
    queue = queue_of(long, short)
    assert queue.take(10) == [(long, [0])]
    assert queue.take(10) == [(short, [0])]


def test_a_call_goes_alone_and_in_its_turn() -> None:
    first, call, second = rows(1), CallJob(lambda: None, tokens=5), rows(1)
    queue = queue_of(first, call, second)
    assert queue.take(10) == [(first, [0])]
    assert queue.take(10) is call
    assert queue.take(10) == [(second, [0])]


def test_vectors_come_back_in_order() -> None:
    job = rows(3, 1, 2)
    assert job.tokens == 6
    queue = queue_of(job)
    while not job.future.done():
        ((_, taken),) = queue.take(3)
        job.put(taken, np.array([[len(job.rows[row])] for row in taken], np.float32))
    assert job.future.result().tolist() == [[3], [1], [2]]
    assert job.tokens == 0


def test_cancelled_jobs_are_dropped_with_their_tokens() -> None:
    kept, left, started = rows(2), rows(3), rows(4, 4)
    queue = queue_of(started, left, kept)
    queue.take(4)
    left.future.cancel()
    started.future.cancel()
    assert (
        sum(job.tokens for job in queue.drop_finished()) == 7
    )  # 3, and the row of the other job that was not taken yet
    assert queue.take(10) == [(kept, [0])]

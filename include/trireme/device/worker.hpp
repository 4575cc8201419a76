// A background thread that runs jobs in order.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace trireme::device {

// Runs jobs one after the other in a thread of its own. A job must call neither MPI nor HDF5. In a simulation,
// which has no threads, start() itself executes the job.
class Worker {
public:
    using JobId = std::size_t;  // number of the job in the order of start(), from 0

    Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker();  // waits for the running job; drops the jobs that have not begun

    // Queues a job; the objects that it uses must outlive its execution. After a job has thrown an exception,
    // later jobs are skipped until clear_exception() or wait_for() is called.
    JobId start(std::function<void()> job);
    // Returns true if the job has ended or was skipped.
    bool is_done(JobId job) const;
    // Blocks without polling until the job has ended or was skipped. Then, if any job has thrown an exception,
    // rethrows and forgets the exception. Meant for short jobs.
    void wait_for(JobId job);
    // If a job has thrown an exception so far, rethrows it without forgetting it.
    void rethrow_exception() const;
    void clear_exception();  // forgets the exception; called after all jobs have ended

private:
    struct State;  // shared by the thread and the callers

    std::unique_ptr<State> state_;
};

}  // namespace trireme::device

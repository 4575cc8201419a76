// A background thread that runs jobs in order.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace trireme::device {

// Runs jobs one after the other in a thread of its own. A job must call neither MPI nor HDF5. In a simulation,
// which has no threads, start() runs the job itself.
class Worker {
public:
    using Job = std::size_t;  // from 0

    Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker();  // waits for the running job; drops those that have not begun

    // Queues a job. What it uses must outlive it. After a job has
    // thrown, later jobs are skipped until clear() or finish().
    Job start(std::function<void()> job);
    // True if the job has ended or was skipped.
    bool is_done(Job job) const;
    // Blocks until the job has ended, then rethrows and forgets an exception of any job. For short jobs.
    void finish(Job job);
    // Rethrows the exception of a job, if any. Call it after all jobs have ended.
    void rethrow() const;
    void clear();  // forgets the exception; call it after all jobs have ended

private:
    struct Shared;

    std::unique_ptr<Shared> shared_;
};

}  // namespace trireme::device

// Progress of messages between GPUs. Unlike MPI messages, these messages progress only during calls of
// functions of their group.
#pragma once

#include <exception>
#include <functional>
#include <list>

namespace trireme::comm {

// The list of a rank's groups that exchange tensors in GPU memory; the list must outlive these groups. While
// the rank waits in one group whose WaitPolicy has between_polls(), the messages of all groups progress.
// Without this, two ranks that wait in different groups could wait for each other forever.
class ProgressEngine {
public:
    // Functions that progress or abort the messages of one group. They must not block.
    struct GroupCallbacks {
        std::function<void()> progress = {};
        std::function<void()> abort = {};
    };
    using Registration = std::list<GroupCallbacks>::iterator;

    ProgressEngine() : between_polls_([this] { progress_all(); }) {}
    ProgressEngine(const ProgressEngine&) = delete;
    ProgressEngine& operator=(const ProgressEngine&) = delete;

    Registration add(GroupCallbacks group) { return groups_.insert(groups_.end(), std::move(group)); }
    void remove(Registration registration) { groups_.erase(registration); }

    void progress_all() const {
        for (const GroupCallbacks& group : groups_) group.progress();
    }

    // Aborts the messages of all groups, because the job is about to end. This ends GPU work that waits for a
    // message, so that GPU memory can be freed.
    void abort_all() const {
        for (const GroupCallbacks& group : groups_) group.abort();
    }

    // Returns a function that calls progress_all(), for WaitPolicy::between_polls.
    const std::function<void()>* between_polls() const { return &between_polls_; }

private:
    std::list<GroupCallbacks> groups_;
    std::function<void()> between_polls_;
};

// A scope guard: if an exception ends the scope, the guard aborts all messages before objects that were
// constructed earlier than the guard are destroyed.
class AbortMessagesOnException {
public:
    explicit AbortMessagesOnException(ProgressEngine& progress_engine) : progress_engine_(progress_engine) {}
    ~AbortMessagesOnException() {
        if (std::uncaught_exceptions() > exceptions_) progress_engine_.abort_all();
    }
    AbortMessagesOnException(const AbortMessagesOnException&) = delete;
    AbortMessagesOnException& operator=(const AbortMessagesOnException&) = delete;

private:
    ProgressEngine& progress_engine_;
    int exceptions_ = std::uncaught_exceptions();  // number of uncaught exceptions at construction
};

}  // namespace trireme::comm

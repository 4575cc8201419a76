// Progress of messages between GPUs. Unlike those of MPI, they progress only when their group is called.
#pragma once

#include <exception>
#include <functional>
#include <list>

namespace trireme::comm {

// The list of all groups of a rank; it must outlive them. While the rank
// waits in one group with a Patience that has `meanwhile` set, the messages
// of all groups progress, because another rank may need one of them first.
class Postman {
public:
    // Callbacks of a group: progress its messages, and abort them. Neither may block.
    struct Round {
        std::function<void()> go_on = {};
        std::function<void()> abandon = {};
    };
    using Customer = std::list<Round>::iterator;

    Postman() : meanwhile_([this] { go_round(); }) {}
    Postman(const Postman&) = delete;
    Postman& operator=(const Postman&) = delete;

    Customer add(Round round) { return rounds_.insert(rounds_.end(), std::move(round)); }
    void remove(Customer customer) { rounds_.erase(customer); }

    void go_round() const {
        for (const Round& round : rounds_) round.go_on();
    }

    // Aborts all messages, because the job is about to end. GPU work that waits for a message ends, so that GPU
    // memory can be freed.
    void abandon() const {
        for (const Round& round : rounds_) round.abandon();
    }

    const std::function<void()>* meanwhile() const { return &meanwhile_; }

private:
    std::list<Round> rounds_;
    std::function<void()> meanwhile_;
};

// A scope guard: if an exception ends the scope, it aborts all messages before objects that were constructed
// earlier are destroyed.
class MessagesOfScope {
public:
    explicit MessagesOfScope(Postman& postman) : postman_(postman) {}
    ~MessagesOfScope() {
        if (std::uncaught_exceptions() > exceptions_) postman_.abandon();
    }
    MessagesOfScope(const MessagesOfScope&) = delete;
    MessagesOfScope& operator=(const MessagesOfScope&) = delete;

private:
    Postman& postman_;
    int exceptions_ = std::uncaught_exceptions();
};

}  // namespace trireme::comm

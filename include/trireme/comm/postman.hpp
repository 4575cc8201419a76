// Who looks after messages of GPUs: unlike those of MPI, they go on only where their group is asked to.
#pragma once

#include <exception>
#include <functional>
#include <list>

namespace trireme::comm {

// One for all groups of a rank, which outlives them. Whatever the rank waits for, in whatever group, the
// messages of all others go on, where its Patience says `meanwhile`: another rank may wait for one of them
// first.
class Postman {
public:
    // What a group does for its messages. Neither waits.
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

    // Nobody waits for any message any more: the job is about to end. Work of a GPU that stands for a message
    // ends, so that its memory can be given back.
    void abandon() const {
        for (const Round& round : rounds_) round.abandon();
    }

    const std::function<void()>* meanwhile() const { return &meanwhile_; }

private:
    std::list<Round> rounds_;
    std::function<void()> meanwhile_;
};

// Where an exception ends its scope, messages are abandoned before what was made before it is destroyed.
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

// A thread of control with a stack of its own, which goes on when somebody resumes it, until it pauses.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace trireme::emulated {

// Boost.Context's, and the address sanitizer, where there is one, learns which stack is in use.
class Fiber {
public:
    explicit Fiber(std::function<void()> work);
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    void resume();  // until it pauses or its work is done
    void pause();   // called by its work

private:
    struct Stack {
        const void* bottom = nullptr;
        std::size_t bytes = 0;
    };

    static void leave_for(const Stack& stack, void** left);
    static void arrive(void* left, Stack* from);

    Stack own_ = {};
    Stack resumer_ = {};
    boost::context::fiber inside_ = {};
    boost::context::fiber outside_ = {};
};

}  // namespace trireme::emulated

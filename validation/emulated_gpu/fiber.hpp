// A thread of control with its own stack. It runs when it is resumed, until it pauses.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace trireme::emulated {

// A fiber of Boost.Context that also reports to the address sanitizer, if enabled, which stack is in use.
class Fiber {
public:
    explicit Fiber(std::function<void()> work);
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    void resume();  // runs until it pauses or its work is done
    void pause();   // called by its work

private:
    struct Stack {
        const void* bottom = nullptr;
        std::size_t bytes = 0;
    };

    static void begin_switch(const Stack& stack, void** left);
    static void arrive(void* left, Stack* from);

    Stack own_ = {};
    Stack resumer_ = {};
    boost::context::fiber inside_ = {};
    boost::context::fiber outside_ = {};
};

}  // namespace trireme::emulated

#include "emulated_gpu/fiber.hpp"

#include <boost/context/pooled_fixedsize_stack.hpp>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace trireme::emulated {

namespace context = boost::context;

#ifdef __SANITIZE_ADDRESS__
void Fiber::begin_switch(const Stack& stack, void** left) {
    __sanitizer_start_switch_fiber(left, stack.bottom, stack.bytes);
}
void Fiber::arrive(void* left, Stack* from) {
    Stack unused;
    if (from == nullptr) from = &unused;
    __sanitizer_finish_switch_fiber(left, &from->bottom, &from->bytes);
}
#else
void Fiber::begin_switch(const Stack& /*stack*/, void** /*left*/) {}
void Fiber::arrive(void* /*left*/, Stack* /*from*/) {}
#endif

Fiber::Fiber(std::function<void()> work) {
    constexpr std::size_t stack_bytes = 128 * 1024;
    static thread_local context::pooled_fixedsize_stack stacks(stack_bytes);  // reused by the next kernel
    const context::stack_context stack = stacks.allocate();
    own_ = {static_cast<std::byte*>(stack.sp) - stack.size, stack.size};
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(own_.bottom,
                                  own_.bytes);  // an earlier fiber ended inside calls
#endif
    inside_ = context::fiber(std::allocator_arg, context::preallocated(stack.sp, stack.size, stack), stacks,
                             [this, does = std::move(work)](context::fiber&& outside) {
                                 arrive(nullptr, &resumer_);
                                 outside_ = std::move(outside);
                                 does();
                                 begin_switch(resumer_, nullptr);
                                 return std::move(outside_);
                             });
}

void Fiber::resume() {
    void* left = nullptr;
    begin_switch(own_, &left);
    inside_ = std::move(inside_).resume();
    arrive(left, nullptr);
}

void Fiber::pause() {
    void* left = nullptr;
    begin_switch(resumer_, &left);
    outside_ = std::move(outside_).resume();
    arrive(left, &resumer_);
}

}  // namespace trireme::emulated

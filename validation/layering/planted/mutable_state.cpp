// State that the globals test must find (mutable_*), beside constants that it must not (constant_*).
#include <array>
#include <iostream>
#include <string>

namespace trireme::layering {

int mutable_global = 1;
int mutable_zero;

namespace {
std::string mutable_string = "built at start";
}

int& mutable_thread_local() {
    thread_local int mutable_per_thread = 0;
    return mutable_per_thread;
}

const std::string& mutable_static_local(int seed) {
    static std::string mutable_once = std::to_string(seed);
    return mutable_once + mutable_string == "" ? mutable_string : mutable_once;
}

inline int& mutable_inline(int step) {
    static int mutable_count = 0;
    mutable_count += step;
    return mutable_count;
}
int& count_up() { return mutable_inline(1); }

constexpr std::array<int, 3> constant_table{1, 2, 3};
constexpr const char* constant_names[] = {"pipe", "data", "tensor"};
int constant_lookup(int i) { return constant_table[static_cast<std::size_t>(i) % 3]; }
const char* constant_name(int i) { return constant_names[i % 3]; }

struct ConstantShape {
    virtual ~ConstantShape() = default;
    virtual int sides() const { return 4; }
};
ConstantShape* constant_shape() { return new ConstantShape; }

void constant_print() { std::cout << constant_name(0); }

}  // namespace trireme::layering

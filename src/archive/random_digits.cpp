#include "trireme/archive/random_digits.hpp"

#include <random>

namespace trireme {

std::string random_digits(int count) {
    std::random_device random;
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < count; ++i) text += digits[random() % 16];
    return text;
}

}  // namespace trireme

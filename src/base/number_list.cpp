#include "trireme/base/number_list.hpp"

namespace trireme {

std::string number_list(std::span<const int> numbers) {
    std::string text;
    for (std::size_t first = 0; first < numbers.size();) {
        std::size_t last = first;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        if (last < first + 2) last = first;  // "0,1", not "0-1"
        if (first > 0) text += ',';
        text += std::to_string(numbers[first]);
        if (last > first) text += '-' + std::to_string(numbers[last]);
        first = last + 1;
    }
    return text;
}

}  // namespace trireme

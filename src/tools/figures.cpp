#include "tools/figures.hpp"

#include <iomanip>
#include <sstream>

namespace trireme {

std::string with_commas(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (auto place = static_cast<std::ptrdiff_t>(digits.size()) - 3; place > 0; place -= 3)
        digits.insert(static_cast<std::size_t>(place), ",");
    return digits;
}

std::string one_decimal(double value) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << value;
    return text.str();
}

std::string in_megabytes(double bytes) { return one_decimal(bytes / 1e6) + " MB"; }

}  // namespace trireme

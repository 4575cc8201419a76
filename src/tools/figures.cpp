#include "tools/figures.hpp"

#include <iomanip>
#include <sstream>

namespace trireme {

std::string one_decimal(double value) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << value;
    return text.str();
}

std::string in_megabytes(double bytes) { return one_decimal(bytes / 1e6) + " MB"; }

}  // namespace trireme

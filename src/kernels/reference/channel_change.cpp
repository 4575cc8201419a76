// The oracle: one element after the other, sums in double.
#include "trireme/kernels/channel_change.hpp"

#include <cmath>

namespace trireme {

void run(ReferenceStream&, const ChannelChange& op) {
    visit_float(op.weight.dtype, [&]<class T>(T) {
        const auto weight = op.weight.as<T>();
        const auto before = op.before.as<T>();
        const auto change = op.change.as<double>();
        for (std::size_t r = 0; r < weight.rows; ++r) {
            for (std::size_t c = 0; c < weight.columns; ++c) {
                const std::size_t channel = op.axes == WeightAxes::in_out ? r : c;
                change[channel] += std::abs(static_cast<double>(weight(r, c)) - before(r, c));
            }
        }
    });
}

}  // namespace trireme

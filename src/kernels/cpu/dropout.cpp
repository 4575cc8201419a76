#include "trireme/kernels/dropout.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/philox.hpp"

namespace trireme::kernels {
namespace {

// Computes the dropout factors of a row: 0 or 1 / (1 - rate).
template <class T>
class RowDropoutFactors {
public:
    RowDropoutFactors(const Dropout& dropout, std::size_t channels)
        : key_(dropout.key),
          samples_(dropout.samples.as<std::int64_t>().data),
          positions_(dropout.positions.as<std::int32_t>().data),
          threshold_(static_cast<std::uint32_t>(compute_drop_threshold(dropout.rate))),
          scale_(static_cast<T>(1 / (1 - dropout.rate))),
          first_block_(dropout.first_channel / 4),
          skipped_words_(dropout.first_channel % 4),
          words_((skipped_words_ + channels + 3) / 4 * 4),
          factors_(channels) {}

    // Returns the factors of the row, one per channel. They are valid until the next call.
    const T* compute_row(std::size_t row) {
        const RandomKey key = key_.then(static_cast<std::uint64_t>(samples_[row]));
        const RandomBlock first{static_cast<std::uint32_t>(first_block_),
                                static_cast<std::uint32_t>(positions_[row]), 0, 0};
        cpu::draw_random_words(key, first, words_.size() / 4, words_.data());
        const std::uint32_t* words = words_.data() + skipped_words_;
        T* factors = factors_.data();
#pragma omp simd
        for (std::size_t c = 0; c < factors_.size(); ++c) factors[c] = words[c] >= threshold_ ? scale_ : T{0};
        return factors;
    }

private:
    RandomKey key_;
    const std::int64_t* samples_;
    const std::int32_t* positions_;
    std::uint32_t threshold_;
    T scale_;
    std::size_t first_block_;
    std::size_t skipped_words_;  // words of the first random block that belong to channels before first_channel
    std::vector<std::uint32_t> words_;
    std::vector<T> factors_;
};

// output = residual + factors * input. A null residual counts as 0, null factors as 1.
template <class T>
void add_residual(const T* residual, const T* input, const T* factors, std::size_t columns, T* output) {
    if (residual != nullptr && factors != nullptr) {
#pragma omp simd
        for (std::size_t c = 0; c < columns; ++c) output[c] = residual[c] + factors[c] * input[c];
    } else if (residual != nullptr) {
#pragma omp simd
        for (std::size_t c = 0; c < columns; ++c) output[c] = residual[c] + input[c];
    } else if (factors != nullptr) {
#pragma omp simd
        for (std::size_t c = 0; c < columns; ++c) output[c] = factors[c] * input[c];
    } else if (input != output) {
        std::copy_n(input, columns, output);
    }
}

template <class T>
void add_residual(int threads, const device::Elements<const T>& residual,
                  const device::Elements<const T>& input, const Dropout& dropout,
                  const device::Elements<T>& output) {
    cpu::for_each_rows(threads, input.rows, input.columns, [&](std::size_t begin, std::size_t end) {
        const auto find_residual_row = [&](std::size_t r) {
            return residual.data == nullptr ? nullptr : residual.row(r);
        };
        if (!dropout.is_on()) {
            for (std::size_t r = begin; r < end; ++r) {
                add_residual<T>(find_residual_row(r), input.row(r), nullptr, input.columns, output.row(r));
            }
            return;
        }
        RowDropoutFactors<T> factors(dropout, input.columns);
        for (std::size_t r = begin; r < end; ++r) {
            add_residual<T>(find_residual_row(r), input.row(r), factors.compute_row(r), input.columns,
                            output.row(r));
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const ResidualAdd& op) {
    visit_float(op.input.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto residual = op.residual.is_present() ? op.residual.as<T>() : device::Elements<const T>{};
        add_residual<T>(stream.threads, residual, op.input.as<T>(), op.dropout, op.output.as<T>());
    });
}

void run(device::CpuStream& stream, const DropoutBackward& op) {
    visit_float(op.grad_output.dtype, [&](auto zero) {
        using T = decltype(zero);
        add_residual<T>(stream.threads, {}, op.grad_output.as<T>(), op.dropout, op.grad_input.as<T>());
    });
}

}  // namespace trireme::kernels

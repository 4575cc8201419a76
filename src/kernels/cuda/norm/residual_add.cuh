// Residual addition with dropout. One random block, of four words, serves four channels. The block is drawn
// only once if one thread processes all four channels.
#pragma once

#include "kernels/cuda/support/vectors.cuh"
#include "trireme/kernels/dropout.hpp"

namespace trireme::kernels::gpu {

inline constexpr unsigned block_words = 4;

// The dropout factors of a model without dropout.
struct KeepAll {
    template <unsigned width, class W>
    __device__ void compute_factors(std::size_t /*row*/, std::size_t /*column*/, W (&factors)[width]) const {
        for (unsigned i = 0; i < width; ++i) factors[i] = 1;
    }
};

// The dropout factors of a model with dropout: 0 for a dropped element, 1 / (1 - rate) for a kept element.
struct KeepSome {
    RandomKey key;
    const std::int64_t* samples;
    const std::int32_t* positions;
    std::size_t first_channel;
    std::uint32_t threshold;
    double scale;

    explicit KeepSome(const Dropout& dropout)
        : key(dropout.key),
          samples(get_elements<std::int64_t>(dropout.samples).data),
          positions(get_elements<std::int32_t>(dropout.positions).data),
          first_channel(dropout.first_channel),
          threshold(static_cast<std::uint32_t>(compute_drop_threshold(dropout.rate))),
          scale(1 / (1 - dropout.rate)) {}

    // Computes the dropout factors of a vector. The caller ensures that the vector begins with the first
    // channel of a random block, or that all its channels belong to a single random block.
    template <unsigned width, class W>
    __device__ void compute_factors(std::size_t row, std::size_t column, W (&factors)[width]) const {
        const RandomKey row_key = key.then(static_cast<std::uint64_t>(samples[row]));
        const auto position = static_cast<std::uint32_t>(positions[row]);
        for (unsigned begin = 0; begin < width; begin += block_words) {
            const std::size_t channel = first_channel + column + begin;
            const auto block = static_cast<std::uint32_t>(channel / block_words);
            const RandomBlock words = random_block(row_key, {block, position, 0, 0});
            const unsigned first = width % block_words == 0 ? 0 : channel % block_words;
            for (unsigned i = begin; i < width && i < begin + block_words; ++i)
                factors[i] = select_word(words, first + i - begin) >= threshold ? static_cast<W>(scale) : W{0};
        }
    }

    // Returns words[index]. An array that is indexed at run time would not stay in registers.
    static __device__ std::uint32_t select_word(const RandomBlock& words, unsigned index) {
        const std::uint32_t even = index < 2 ? words[0] : words[2];
        const std::uint32_t odd = index < 2 ? words[1] : words[3];
        return index % 2 == 0 ? even : odd;
    }
};

// output = residual + input * factors. A residual with null data counts as 0.
template <class T, class Keep>
struct ResidualAddStep {
    device::Elements<const T> residual;
    device::Elements<const T> input;
    device::Elements<T> output;
    Keep keep;

    template <unsigned width>
    __device__ void process(std::size_t row, std::size_t column) const {
        const auto x = load<width>(input, row, column);
        Accumulator<T> factors[width];
        keep.compute_factors(row, column, factors);
        Vector<T, width> y;
        if (residual.data == nullptr) {
            for (unsigned i = 0; i < width; ++i) y.set(i, x[i] * factors[i]);
        } else {
            const auto residual_values = load<width>(residual, row, column);
            for (unsigned i = 0; i < width; ++i) y.set(i, residual_values[i] + x[i] * factors[i]);
        }
        store(output, row, column, y);
    }
};

// Calls use(ResidualAddStep, may_use_vectors).
template <class T, class Use>
void visit_add(const ResidualAdd& op, Use&& use) {
    const auto residual = get_elements_or_none<T>(op.residual);
    const auto input = get_elements<T>(op.input);
    const auto output = get_elements<T>(op.output);
    const bool uses_vectors = may_use_vectors<T>(residual, input, output);
    if (!op.dropout.is_on()) return use(ResidualAddStep<T, KeepAll>{residual, input, output, {}}, uses_vectors);
    use(ResidualAddStep<T, KeepSome>{residual, input, output, KeepSome(op.dropout)},
        uses_vectors && op.dropout.first_channel % block_words == 0);
}

}  // namespace trireme::kernels::gpu

// Residual addition with dropout. One block of random words serves four channels; it is drawn once if one
// thread has all four.
#pragma once

#include "kernels/cuda/support/vectors.cuh"
#include "trireme/kernels/dropout.hpp"

namespace trireme::kernels::gpu {

inline constexpr unsigned words_of_block = 4;

struct KeepAll {
    template <unsigned width, class W>
    __device__ void factors(std::size_t /*row*/, std::size_t /*column*/, W (&factors)[width]) const {
        for (unsigned i = 0; i < width; ++i) factors[i] = 1;
    }
};

struct KeepSome {
    RandomKey key;
    const std::int64_t* samples;
    const std::int32_t* positions;
    std::size_t first_channel;
    std::uint32_t threshold;
    double scale;

    explicit KeepSome(const Dropout& dropout)
        : key(dropout.key),
          samples(elements<std::int64_t>(dropout.samples).data),
          positions(elements<std::int32_t>(dropout.positions).data),
          first_channel(dropout.first_channel),
          threshold(static_cast<std::uint32_t>(keep_threshold(dropout.rate))),
          scale(1 / (1 - dropout.rate)) {}

    // Computes the dropout factors of a vector. A vector begins at a random block or lies within one.
    template <unsigned width, class W>
    __device__ void factors(std::size_t row, std::size_t column, W (&factors)[width]) const {
        const RandomKey of_row = key.then(static_cast<std::uint64_t>(samples[row]));
        const auto position = static_cast<std::uint32_t>(positions[row]);
        for (unsigned begin = 0; begin < width; begin += words_of_block) {
            const std::size_t channel = first_channel + column + begin;
            const auto block = static_cast<std::uint32_t>(channel / words_of_block);
            const RandomBlock words = random_block(of_row, {block, position, 0, 0});
            const unsigned first = width % words_of_block == 0 ? 0 : channel % words_of_block;
            for (unsigned i = begin; i < width && i < begin + words_of_block; ++i)
                factors[i] = word(words, first + i - begin) >= threshold ? static_cast<W>(scale) : W{0};
        }
    }

    // Returns words[place]. An array with a run-time index would not stay in registers.
    static __device__ std::uint32_t word(const RandomBlock& words, unsigned place) {
        const std::uint32_t even = place < 2 ? words[0] : words[2];
        const std::uint32_t odd = place < 2 ? words[1] : words[3];
        return place % 2 == 0 ? even : odd;
    }
};

// output = residual + input * factors; residual may have null data.
template <class T, class Keep>
struct Add {
    device::Elements<const T> residual;
    device::Elements<const T> input;
    device::Elements<T> output;
    Keep keep;

    template <unsigned width>
    __device__ void at(std::size_t row, std::size_t column) const {
        const auto x = load<width>(input, row, column);
        Wide<T> factors[width];
        keep.factors(row, column, factors);
        Vector<T, width> y;
        if (residual.data == nullptr) {
            for (unsigned i = 0; i < width; ++i) y.set(i, x[i] * factors[i]);
        } else {
            const auto past = load<width>(residual, row, column);
            for (unsigned i = 0; i < width; ++i) y.set(i, past[i] + x[i] * factors[i]);
        }
        store(output, row, column, y);
    }
};

// Calls use(Add, has_vectors); the flag is true if the rows may be processed in vectors.
template <class T, class Use>
void visit_add(const ResidualAdd& op, Use&& use) {
    const auto residual = elements_or_none<T>(op.residual);
    const auto input = elements<T>(op.input);
    const auto output = elements<T>(op.output);
    const bool vectors = has_vectors<T>(residual, input, output);
    if (!op.dropout.is_on()) return use(Add<T, KeepAll>{residual, input, output, {}}, vectors);
    use(Add<T, KeepSome>{residual, input, output, KeepSome(op.dropout)},
        vectors && op.dropout.first_channel % words_of_block == 0);
}

}  // namespace trireme::kernels::gpu

// Operations on no rows, which is what a rank has whose part of a sequence is empty: they do nothing, with
// addresses and without.
#include "comparison.hpp"
#include "trireme/kernels/columns.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/embedding.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/logit_statistics.hpp"
#include "trireme/kernels/norm.hpp"
#include "trireme/kernels/rows.hpp"

namespace trireme {
namespace {

constexpr std::size_t in = 300;
constexpr std::size_t out = 129;

// Operands of one set of calls: those of rows have none, the others are random and must stay as they are.
class NoRows {
public:
    NoRows(Stream& stream, DType dtype, bool has_address)
        : stream_(stream), has_address_(has_address), operands_(dtype) {}

    Tensor matrix(std::size_t columns) { return view(operands_.dtype(), 0, columns); }
    Tensor vector() { return vector_of(operands_.dtype()); }
    Tensor vector_of(DType dtype) { return view(dtype, 1, 0); }
    Tensor parameter(std::size_t columns) { return parameter(1, columns); }
    Tensor parameter(std::size_t rows, std::size_t columns) {
        changeable_.push_back(operands_.random(rows, columns));
        before_.push_back(values(changeable_.back()));
        return changeable_.back();
    }
    Tensor columns(const std::vector<double>& names) {
        return operands_.numbers_of(DType::i32, 1, names.size(), names);
    }
    Dropout dropout(double rate) {
        return {.rate = rate, .samples = vector_of(DType::i64), .positions = vector_of(DType::i32)};
    }

    template <class Op>
    void expect_nothing(const Op& op) {
        SCOPED_TRACE(op.cost().kernel);
        EXPECT_NO_THROW(launch(stream_, op));
        for (std::size_t i = 0; i < changeable_.size(); ++i) EXPECT_EQ(values(changeable_[i]), before_[i]);
    }

private:
    Tensor view(DType dtype, std::size_t rows, std::size_t columns) {
        if (!has_address_) return {nullptr, dtype, rows, columns, columns};
        return operands_.numbers_of(dtype, rows, columns, {});
    }

    Stream& stream_;
    bool has_address_;
    Operands operands_;
    std::vector<Tensor> changeable_;
    std::vector<std::vector<double>> before_;
};

// Calls `test(operands)` on every backend.
template <class Test>
void for_each_backend(Test&& test) {
    for (const bool has_address : {true, false}) {
        for (const DType dtype : {DType::f32, DType::f64}) {
            for (Stream stream : {Stream{ReferenceStream{}}, Stream{CpuStream{1}}, Stream{CpuStream{3}},
                                  Stream{GhostStream{}}}) {
                SCOPED_TRACE(cat(name_of(dtype), ", backend ", stream.backend.index(), ", ",
                                 has_address ? "addresses" : "no addresses"));
                NoRows t(stream, dtype, has_address);
                test(t);
            }
        }
    }
}

TEST(NoRows, AreNormalisedToNone) {
    for_each_backend([](NoRows& t) {
        const Tensor x = t.matrix(in);
        const Tensor y = t.matrix(in);
        const Tensor gain = t.parameter(in);
        const Tensor bias = t.parameter(in);
        const Tensor mean = t.vector();
        const Tensor scale = t.vector();

        t.expect_nothing(LayerNorm{x, gain, bias, y, mean, scale});
        t.expect_nothing(LayerNormBackwardInput{x, gain, mean, scale, y, t.matrix(in), t.matrix(in)});
        t.expect_nothing(LayerNormBackwardWeight{x, mean, scale, y, gain, bias});
        t.expect_nothing(RmsNorm{x, gain, y, scale});
        t.expect_nothing(RmsNormBackwardInput{x, gain, scale, y, t.matrix(in), t.matrix(in)});
        t.expect_nothing(RmsNormBackwardWeight{x, scale, y, gain});
    });
}

TEST(NoRows, AreMultipliedToNone) {
    for_each_backend([](NoRows& t) {
        for (const WeightAxes axes : {WeightAxes::in_out, WeightAxes::out_in}) {
            const Tensor x = t.matrix(in);
            const Tensor y = t.matrix(out);
            const Tensor weight = axes == WeightAxes::in_out ? t.parameter(in, out) : t.parameter(out, in);
            const Tensor bias = t.parameter(out);

            t.expect_nothing(Linear{x, weight, bias, y, axes});
            t.expect_nothing(Linear{x, weight, {}, y, axes});
            t.expect_nothing(LinearBackwardInput{y, weight, x, axes, false});
            t.expect_nothing(LinearBackwardInput{y, weight, x, axes, true});
            t.expect_nothing(LinearBackwardWeight{x, y, weight, bias, axes});
            t.expect_nothing(LinearBackwardWeight{x, y, weight, {}, axes});
        }
    });
}

TEST(NoRows, AreAddedAndDroppedToNone) {
    for_each_backend([](NoRows& t) {
        for (const double rate : {0.0, 0.5}) {
            const Tensor x = t.matrix(in);
            t.expect_nothing(ResidualAdd{t.matrix(in), x, t.matrix(in), t.dropout(rate)});
            t.expect_nothing(ResidualAdd{{}, x, x, t.dropout(rate)});
            t.expect_nothing(DropoutBackward{x, t.matrix(in), t.dropout(rate)});
        }
    });
}

TEST(NoRows, AreMovedAndFilledToNone) {
    for_each_backend([](NoRows& t) {
        const Tensor x = t.matrix(in);
        const Tensor table = t.parameter(7, in);
        const Tensor rows = t.vector_of(DType::i32);

        t.expect_nothing(Copy{x, t.matrix(in)});
        t.expect_nothing(Fill{x, 3});
        t.expect_nothing(GatherRows{table, rows, x});
        t.expect_nothing(GatherRows{t.matrix(in), rows, x});
        t.expect_nothing(ScatterRows{x, rows, table});
        const Tensor pair = t.columns({4, 1});
        t.expect_nothing(GatherColumns{x, pair, t.matrix(2)});
        for (const Unnamed unnamed : {Unnamed::stay, Unnamed::zero, Unnamed::mean}) {
            t.expect_nothing(ScatterColumns{t.matrix(2), pair, x, unnamed});
            t.expect_nothing(ScatterColumns{t.matrix(2), pair, x, unnamed, true});
        }
    });
}

TEST(NoRows, AreLookedUpAsNone) {
    for_each_backend([](NoRows& t) {
        const Tensor rows = t.matrix(in);
        const Tensor ids = t.vector_of(DType::i32);
        const Tensor tokens = t.parameter(5, in);
        const Tensor positions = t.parameter(4, in);
        const Tensor types = t.parameter(2, in);

        t.expect_nothing(Embedding{ids, ids, tokens, positions, ids, types, rows});
        t.expect_nothing(Embedding{ids, ids, tokens, {}, {}, {}, rows, 3, 10});
        t.expect_nothing(EmbeddingBackward{ids, ids, rows, tokens, positions, ids, types});
        t.expect_nothing(EmbeddingBackward{ids, ids, rows, tokens, {}, {}, {}, 3, 10});
    });
}

TEST(NoRows, OfLogitsHaveNoLosses) {
    for_each_backend([](NoRows& t) {
        const Tensor logits = t.matrix(in);
        const Tensor ids = t.vector_of(DType::i32);
        const Tensor numbers = t.vector_of(DType::f64);
        Tensor parts = t.matrix(logit_field::count);
        parts.dtype = DType::f64;

        t.expect_nothing(LogitStatistics{logits, ids, parts, 7});
        t.expect_nothing(MergeLogitStatistics{parts, ids, numbers, numbers, ids, in + 7, 0.1});
        t.expect_nothing(LogitGradients{logits, ids, numbers, 7, in + 7, 1, 0.1});
    });
}

}  // namespace
}  // namespace trireme

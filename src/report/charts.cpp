#include "report/charts.hpp"

#include <algorithm>

#include "report/number_text.hpp"
#include "report/svg_bars.hpp"
#include "report/svg_chart.hpp"
#include "trireme/base/error.hpp"

namespace trireme::report {
namespace {

constexpr std::size_t most_points = 1000;  // of a curve as it is drawn
constexpr std::size_t smooth_share = 50;   // a smoothed point looks over a fiftieth of the run to either side
constexpr double farthest = 1e100;         // what lies beyond is drawn there

using Lines = std::vector<StepRecord>;

Curve curve_of(const Lines& lines, Figure StepRecord::*field, double unit = 1) {
    Curve curve;
    for (const StepRecord& line : lines) {
        if (line.*field) curve.push_back({line.step, std::clamp(*(line.*field) / unit, -farthest, farthest)});
    }
    return curve;
}

Curve calm(const Curve& curve) {
    return smoothed(curve, std::max<std::size_t>(2, curve.size() / smooth_share), most_points / 2);
}

std::vector<Series> as_recorded_and_smoothed(const Curve& curve, const char* name, int colour) {
    std::vector<Series> series{{name, Mark::faint_line, colour, thinned(curve, most_points)}};
    if (curve.size() > 2) series.push_back({"smoothed", Mark::line, colour, calm(curve)});
    return series;
}

std::string speed_chart(const Lines& steps) {
    return svg_chart(
        {.title = "Tokens per second",
         .y_label = "tokens/s",
         .from_zero = true,
         .series = as_recorded_and_smoothed(curve_of(steps, &StepRecord::tokens_per_s), "each step", 0)});
}

std::string mfu_chart(const Lines& steps) {
    return svg_chart(
        {.title = "Model FLOP utilisation (MFU)",
         .y_label = "% of peak",
         .from_zero = true,
         .series = as_recorded_and_smoothed(curve_of(steps, &StepRecord::mfu, 0.01), "each step", 0)});
}

BarPart time_part(const char* name, double seconds, double all, int colour) {
    return {name, seconds, cat(duration(seconds), " (", percent(seconds / all), ")"), colour};
}

BarPart token_part(const char* name, double tokens, double all, int colour) {
    return {name, tokens, cat(with_commas(tokens), " (", percent(tokens / all), ")"), colour};
}

}  // namespace

std::string loss_chart(const RunRecords& records) {
    Chart chart{.title = "Loss", .y_label = "loss", .may_be_log = true, .is_wide = true, .series = {}};
    chart.series =
        as_recorded_and_smoothed(curve_of(records.steps, &StepRecord::loss), "training, each step", 0);
    if (chart.series.size() > 1) chart.series.back().name = "training, smoothed";
    const Curve validation = curve_of(records.evaluations, &StepRecord::validation_loss);
    if (!validation.empty())
        chart.series.push_back({"validation", Mark::dots, 1, thinned(validation, most_points)});
    return svg_chart(chart);
}

std::string score_chart(const RunRecords& records) {
    Chart chart{.title = "Right on validation samples",
                .y_label = "%",
                .from_zero = true,
                .is_wide = true,
                .series = {}};
    const auto add = [&](const char* name, Figure StepRecord::*field, int colour) {
        const Curve curve = curve_of(records.evaluations, field, 0.01);
        if (!curve.empty()) chart.series.push_back({name, Mark::line, colour, thinned(curve, most_points)});
    };
    if (!records.steps.empty()) chart.first_step = records.steps.front().step;
    add("accuracy", &StepRecord::validation_accuracy, 0);
    add("exact match", &StepRecord::validation_exact_match, 0);
    add("F1", &StepRecord::validation_f1, 1);
    if (chart.series.size() == 1) chart.y_label = chart.series.front().name + ", %";
    return svg_chart(chart);
}

std::string speed_charts(const RunRecords& records) {
    return speed_chart(records.steps) + mfu_chart(records.steps);
}

std::string optimizer_charts(const RunRecords& records) {
    const Chart norm{
        .title = "Gradient norm, before clipping",
        .y_label = "norm",
        .may_be_log = true,
        .series = as_recorded_and_smoothed(curve_of(records.steps, &StepRecord::grad_norm), "each step", 0)};
    const Curve rate = thinned(curve_of(records.steps, &StepRecord::lr), most_points);
    return svg_chart(norm) + svg_chart({.title = "Learning rate",
                                        .y_label = "rate",
                                        .from_zero = true,
                                        .series = {{"learning rate", Mark::line, 0, rate}}});
}

std::string time_bars(const Summary& s) {
    if (!s.seconds || !s.bubble || *s.seconds <= 0) return "";
    const double kernels = std::clamp(1 - *s.bubble, 0.0, 1.0) * *s.seconds;
    Bar bar{"", {time_part("in kernels", kernels, *s.seconds, 0)}};
    double rest = *s.seconds - kernels;
    int colour = 1;
    const auto add = [&](const char* what, Figure seconds) {
        const double wait = std::clamp(seconds.value_or(0), 0.0, rest);
        if (seconds) bar.parts.push_back(time_part(what, wait, *s.seconds, colour++));
        rest -= wait;
    };
    const auto seconds_of = [&](Figure share) { return share ? Figure(*share * *s.seconds) : Figure(); };
    if (s.bubble_schedule) {
        add("waiting for other stages", seconds_of(s.bubble_schedule));
        add("waiting for tensor ranks", seconds_of(s.wait_tensor));
        add("waiting for replicas", seconds_of(s.wait_data));
    } else {
        add("waiting for other ranks", s.comm_wait_s);
    }
    bar.parts.push_back(time_part("the rest", rest, *s.seconds, colour));
    return svg_bars("Where the time of the steps goes, mean over the ranks", {bar});
}

std::string padding_bars(const Summary& s) {
    if (!s.tokens || !s.padding || *s.padding < 0 || *s.padding >= 1) return "";
    const double computed = *s.tokens / (1 - *s.padding);
    return svg_bars("Computed tokens", {{"",
                                         {token_part("of samples", *s.tokens, computed, 0),
                                          token_part("padding", computed - *s.tokens, computed, 1)}}});
}

std::string memory_bars(const Summary& s) {
    std::vector<Bar> bars;
    const auto add = [&](const char* label, const char* meaning, Figure bytes, int colour) {
        if (bytes && *bytes >= 0) bars.push_back({label, {{meaning, *bytes, megabytes(*bytes), colour}}});
    };
    add("predicted", "predicted before the start", s.predicted_bytes, 0);
    add("grown", "what the process grew by", s.grown_bytes, 1);
    return svg_bars("Memory of a rank", bars);
}

}  // namespace trireme::report

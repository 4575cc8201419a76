#include <algorithm>
#include <array>

#include "report/html.hpp"
#include "report/page.hpp"
#include "report/svg_chart.hpp"
#include "trireme/base/error.hpp"

namespace trireme::report {
namespace {

constexpr std::size_t max_points = 1000;  // points per drawn curve
// A smoothed point is computed from 1 / 50 of the points of the curve on either side.
constexpr std::size_t smoothing_divisor = 50;
constexpr double max_drawn_value = 1e100;  // larger values are drawn as this value

// Returns the values of a field over the steps, in multiples of `unit`. Lines without the field are skipped.
template <class Line>
Curve make_curve(const std::vector<Line>& lines, records::Figure Line::*field, double unit = 1) {
    Curve curve;
    for (const Line& line : lines) {
        if (line.*field)
            curve.push_back({*line.step, std::clamp(*(line.*field) / unit, -max_drawn_value, max_drawn_value)});
    }
    return curve;
}

Curve smooth_for_drawing(const Curve& curve) {
    return smooth_curve(curve, std::max<std::size_t>(2, curve.size() / smoothing_divisor), max_points / 2);
}

std::vector<Series> make_series(const Curve& curve, const char* name, int colour) {
    std::vector<Series> series{{name, Mark::faint_line, colour, thin_curve(curve, max_points)}};
    if (curve.size() > 2) series.push_back({"smoothed", Mark::line, colour, smooth_for_drawing(curve)});
    return series;
}

// Slow ranks and changes of plan are rare and explain the form of a curve, so they are drawn over the whole
// height. Evaluations and checkpoints are short marks at the top.
std::vector<Event> make_events(const RunRecords& records) {
    constexpr std::size_t max_marks = 200;  // a kind with more short marks is omitted
    // In the order of RunEvent::Kind.
    const std::array<const char*, 4> kinds{"slow rank", "change of plan", "evaluation", "checkpoint"};
    std::vector<Event> events;
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        const auto is_of_kind = [&](const RunEvent& event) {
            return static_cast<std::size_t>(event.kind) == kind;
        };
        const auto count = static_cast<std::size_t>(std::ranges::count_if(records.events, is_of_kind));
        const bool is_tall = kind <= RunEvent::plan_change;  // slow ranks and changes of plan
        if (!is_tall && count > max_marks) continue;
        for (const RunEvent& event : records.events)
            if (is_of_kind(event))
                events.push_back({event.step, kinds[kind], event.text, static_cast<int>(kind), is_tall});
    }
    return events;
}

BarPart make_time_part(const char* name, double seconds, double total, int colour) {
    return {name, seconds, cat(format_duration(seconds), " (", format_percent(seconds / total), ")"), colour};
}

BarPart make_token_part(const char* name, double tokens, double total, int colour) {
    return {name, tokens, cat(format_with_commas(tokens), " (", format_percent(tokens / total), ")"), colour};
}

}  // namespace

std::string draw_loss_chart(const RunRecords& records) {
    Chart chart{.title = "Loss", .y_label = "loss", .may_be_log = true, .is_wide = true, .series = {}};
    chart.series = make_series(make_curve(records.steps, &records::StepLine::loss), "training, each step", 0);
    if (chart.series.size() > 1) chart.series.back().name = "training, smoothed";
    const Curve validation = make_curve(records.evaluations, &records::EvaluationLine::loss);
    if (!validation.empty())
        chart.series.push_back({"validation", Mark::dots, 1, thin_curve(validation, max_points)});
    chart.events = make_events(records);
    return draw_chart(chart);
}

std::string draw_score_chart(const RunRecords& records) {
    Chart chart{.title = "Scores on the validation samples",
                .y_label = "%",
                .starts_at_zero = true,
                .is_wide = true,
                .series = {}};
    const auto add = [&](const char* name, records::Figure records::EvaluationLine::*field, int colour) {
        const Curve curve = make_curve(records.evaluations, field, 0.01);
        if (!curve.empty()) chart.series.push_back({name, Mark::line, colour, thin_curve(curve, max_points)});
    };
    if (!records.steps.empty()) chart.first_step = *records.steps.front().step;
    add("accuracy", &records::EvaluationLine::accuracy, 0);
    add("exact match", &records::EvaluationLine::exact_match, 0);
    add("F1", &records::EvaluationLine::f1, 1);
    if (chart.series.size() == 1) chart.y_label = chart.series.front().name + ", %";
    return draw_chart(chart);
}

std::string draw_speed_charts(const RunRecords& records) {
    const records::Manifest manifest = records.manifest.value_or(records::Manifest{});
    const bool has_images = manifest.tokens_of_image.value_or(0) > 0;
    const double unit = has_images ? static_cast<double>(*manifest.tokens_of_image) : 1;
    const auto chart = [&](const char* title, const char* label, records::Figure records::StepLine::*field,
                           double divisor) {
        return draw_chart({.title = title,
                           .y_label = label,
                           .starts_at_zero = true,
                           .series = make_series(make_curve(records.steps, field, divisor), "each step", 0),
                           .events = make_events(records)});
    };
    return chart(has_images ? "Images per second" : "Tokens per second", has_images ? "images/s" : "tokens/s",
                 &records::StepLine::tokens_per_s, unit) +
           chart("Model FLOP utilisation (MFU)", "% of peak", &records::StepLine::mfu, 0.01);
}

// Shows the joules of each step and, with --energy, the fewest for the same passes in the same time.
std::string draw_energy_chart(const RunRecords& records) {
    Chart chart{.title = "Energy of all ranks per step",
                .y_label = "J",
                .starts_at_zero = true,
                .series = make_series(make_curve(records.steps, &records::StepLine::energy_j), "measured", 0),
                .events = make_events(records)};
    const bool has_limit = records.summary && records.summary->min_step_j && !records.steps.empty();
    if (has_limit && !chart.series.empty()) {
        const double joules = *records.summary->min_step_j;
        chart.series.push_back({"limit, without waits",
                                Mark::line,
                                2,
                                {{*records.steps.front().step, joules}, {*records.steps.back().step, joules}}});
    }
    return draw_chart(chart);
}

// Shows the number of frozen blocks of each step; empty if no step has any.
std::string draw_frozen_chart(const RunRecords& records) {
    Curve curve;
    for (const records::StepLine& line : records.steps) curve.push_back({*line.step, line.frozen.value_or(0)});
    if (std::ranges::all_of(curve, [](const Point& point) { return point.y == 0; })) return "";
    return draw_chart({.title = "Frozen blocks",
                       .y_label = "blocks",
                       .starts_at_zero = true,
                       .series = {{"frozen", Mark::line, 0, thin_curve(curve, max_points)}}});
}

std::string draw_step_charts(const RunRecords& records) {
    using Field = records::Figure records::StepLine::*;
    const auto chart = [&](const char* title, const char* label,
                           const std::vector<std::pair<const char*, Field>>& lines, double unit = 1) {
        Chart drawn{.title = title,
                    .y_label = label,
                    .starts_at_zero = true,
                    .series = {},
                    .events = make_events(records)};
        for (int colour = 0; const auto& [name, field] : lines) {
            const Curve curve = make_curve(records.steps, field, unit);
            if (!curve.empty())
                drawn.series.push_back({name, Mark::line, colour, thin_curve(curve, max_points)});
            ++colour;
        }
        return draw_chart(drawn);
    };
    return chart("Seconds per step", "seconds",
                 {{"measured", &records::StepLine::seconds},
                  {"predicted from the sample lengths", &records::StepLine::predicted_s}}) +
           draw_energy_chart(records) + draw_frozen_chart(records) +
           chart("Tokens per step", "tokens",
                 {{"of samples", &records::StepLine::tokens},
                  {"with padding", &records::StepLine::padded_tokens}}) +
           chart("Memory on the rank that needs the most", "GB",
                 {{"of the step, predicted from the sample lengths", &records::StepLine::predicted_bytes},
                  {"measured, largest since the start", &records::StepLine::peak_bytes},
                  {"limit", &records::StepLine::limit_bytes}},
                 1e9);
}

std::string draw_optimizer_charts(const RunRecords& records) {
    const Chart norm{
        .title = "Gradient norm, before clipping",
        .y_label = "norm",
        .may_be_log = true,
        .series = make_series(make_curve(records.steps, &records::StepLine::grad_norm), "each step", 0)};
    const Curve rate = thin_curve(make_curve(records.steps, &records::StepLine::lr), max_points);
    return draw_chart(norm) + draw_chart({.title = "Learning rate",
                                          .y_label = "rate",
                                          .starts_at_zero = true,
                                          .series = {{"learning rate", Mark::line, 0, rate}}});
}

std::string draw_time_bars(const records::Summary& s) {
    if (!s.seconds || !s.bubble || *s.seconds <= 0) return "";
    const double kernels = std::clamp(1 - *s.bubble, 0.0, 1.0) * *s.seconds;
    Bar bar{"", {make_time_part("in kernels", kernels, *s.seconds, 0)}};
    double rest = *s.seconds - kernels;  // seconds that no part of the bar shows yet
    int colour = 1;
    const auto add = [&](const char* label, records::Figure seconds) {
        const double wait = std::clamp(seconds.value_or(0), 0.0, rest);
        if (seconds) bar.parts.push_back(make_time_part(label, wait, *s.seconds, colour++));
        rest -= wait;
    };
    const auto to_seconds = [&](records::Figure fraction) {
        return fraction ? records::Figure(*fraction * *s.seconds) : records::Figure();
    };
    if (s.bubble_schedule) {
        add("waiting for other stages", to_seconds(s.bubble_schedule));
        add("waiting for tensor ranks", to_seconds(s.wait_tensor));
        add("waiting for gradients", to_seconds(s.wait_data));
    } else {
        add("waiting for other ranks", s.comm_wait_s);
    }
    bar.parts.push_back(make_time_part("other time", rest, *s.seconds, colour));
    return draw_bars("Where the time of the steps goes, mean over the ranks", {bar});
}

std::string draw_rank_bars(const RunRecords& records) {
    constexpr std::size_t max_ranks = 64;
    std::vector<Bar> bars;
    for (std::size_t rank = 0; rank < std::min(records.ranks.size(), max_ranks); ++rank) {
        const RankSeconds& s = records.ranks[rank];
        const auto part = [](const char* name, double seconds, int colour) {
            return BarPart{name, seconds, format_duration(seconds), colour};
        };
        bars.push_back({cat("rank ", rank),
                        {part("in kernels", s.compute, 0), part("waiting for other stages", s.stages, 1),
                         part("waiting for tensor ranks", s.tensor, 2),
                         part("waiting for gradients", s.data, 3), part("other time", s.rest, 4)}});
    }
    const std::string suffix = records.ranks.size() > max_ranks
                                   ? cat(" (the first ", max_ranks, " of ", records.ranks.size(), " ranks)")
                                   : "";
    return draw_bars(cat("Time of each rank, summed over the steps", suffix), bars);
}

std::string draw_padding_bars(const records::Summary& s) {
    if (!s.tokens || !s.padding || *s.padding < 0 || *s.padding >= 1) return "";
    const double computed = *s.tokens / (1 - *s.padding);
    return draw_bars("Computed tokens", {{"",
                                          {make_token_part("tokens of samples", *s.tokens, computed, 0),
                                           make_token_part("padding", computed - *s.tokens, computed, 1)}}});
}

std::string draw_memory_bars(const records::Summary& s) {
    std::vector<Bar> bars;
    const auto add = [&](const char* label, const char* meaning, records::Figure bytes, int colour) {
        if (bytes && *bytes >= 0)
            bars.push_back({label, {{meaning, *bytes, format_megabytes(*bytes), colour}}});
    };
    add("predicted", "predicted before the start", s.predicted_bytes, 0);
    add("measured", "growth of the process", s.growth_bytes, 1);
    return draw_bars("Memory of the fullest rank", bars);
}

}  // namespace trireme::report

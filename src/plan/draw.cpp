#include "plan/draw.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "core/readable.hpp"

namespace laneway {

namespace {

constexpr int margin = 24;
constexpr int box_width = 190;
constexpr int box_height = 38;
constexpr int row_height = 48;
constexpr int column_gap = 56;
constexpr int header = 104;
constexpr int rows_in_column = 40;

struct StageStyle {
  Stage stage;
  const char* fill;
  const char* edge;
  const char* note;
};

constexpr std::array<StageStyle, 4> styles = {{
    {Stage::gather, "#e4f3e4", "#2e7d32", "inside the node, to the ranks that send"},
    {Stage::network, "#fdebd7", "#c25e00", "between nodes"},
    {Stage::scatter, "#e2ecfa", "#1a56a6", "inside the node, to the final ranks"},
    {Stage::direct, "#efefef", "#555555", "not relayed"},
}};

struct Column {
  const StageStyle* style = nullptr;
  int x = 0;
  std::vector<int> steps;
};

struct Place {
  std::size_t column = 0;
  std::size_t row = 0;
};

std::string escape(std::string_view text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::int64_t copied_bytes(const Step& step) {
  std::int64_t bytes = 0;
  for (const CopyRun& run : step.runs) bytes += run.bytes * run.count;
  return bytes;
}

std::int64_t bytes_of(const Step& step) {
  return step.kind == StepKind::copy ? copied_bytes(step) : step.span.bytes;
}

std::string headline(const Step& step) {
  switch (step.kind) {
    case StepKind::send:
      return "send to " + std::to_string(step.peer);
    case StepKind::receive:
      return "receive from " + std::to_string(step.peer);
    case StepKind::copy:
      break;
  }
  return std::string("copy ") + name(step.from) + " → " + name(step.to);
}

std::string detail(const Step& step) {
  const std::string bytes = readable_bytes(bytes_of(step));
  if (step.kind != StepKind::copy)
    return bytes + ", " + name(step.span.buffer) + " + " + std::to_string(step.span.offset);
  std::int64_t blocks = 0;
  for (const CopyRun& run : step.runs) blocks += run.count;
  return bytes + (blocks == 1 ? " in 1 block" : " in " + std::to_string(blocks) + " blocks");
}

/// Columns of one stage: a step is one to the right of the last step of its stage that it waits for.
std::vector<Column> arrange(const Plan& plan, std::vector<Place>& places) {
  std::vector<int> depth(plan.steps.size(), 0);
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    for (int before : plan.steps[i].after)
      if (const auto b = static_cast<std::size_t>(before); plan.steps[b].stage == plan.steps[i].stage)
        depth[i] = std::max(depth[i], depth[b] + 1);
  std::vector<Column> columns;
  int x = margin;
  for (const StageStyle& style : styles) {
    std::map<int, std::vector<int>> by_depth;
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      if (plan.steps[i].stage == style.stage) by_depth[depth[i]].push_back(static_cast<int>(i));
    for (auto& [level, steps] : by_depth) {
      columns.push_back({&style, x, std::move(steps)});
      x += box_width + column_gap;
    }
  }
  places.resize(plan.steps.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    // Near what they wait for, so that arrows cross little.
    std::map<int, double> wanted;
    for (int step : columns[c].steps) {
      const std::vector<int>& after = plan.steps[static_cast<std::size_t>(step)].after;
      double sum = 0;
      for (int before : after) sum += static_cast<double>(places[static_cast<std::size_t>(before)].row);
      wanted[step] =
          after.empty() ? rows_in_column + static_cast<double>(step) : sum / static_cast<double>(after.size());
    }
    std::stable_sort(columns[c].steps.begin(), columns[c].steps.end(),
                     [&](int a, int b) { return wanted[a] < wanted[b]; });
    for (std::size_t row = 0; row < columns[c].steps.size(); ++row)
      places[static_cast<std::size_t>(columns[c].steps[row])] = {c, std::min<std::size_t>(row, rows_in_column - 1)};
  }
  return columns;
}

class Picture {
 public:
  Picture(const Plan& plan, const std::string& title) : plan_(plan), columns_(arrange(plan, places_)) {
    std::size_t rows = 1;
    for (const Column& column : columns_)
      rows = std::max(rows, std::min<std::size_t>(column.steps.size(), rows_in_column));
    const int title_width = 2 * margin + static_cast<int>(title.size()) * 10;
    const int width = std::max({520, title_width, columns_.empty() ? 0 : columns_.back().x + box_width + margin});
    const int height = header + static_cast<int>(rows) * row_height + margin;
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
         << "\" viewBox=\"0 0 " << width << ' ' << height << "\" font-family=\"Helvetica, Arial, sans-serif\">\n"
         << "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
            "orient=\"auto\"><path d=\"M0,0.5 L8,4 L0,7.5 z\" fill=\"#777777\"/></marker></defs>\n"
         << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    text(margin, 30, 16, "#111111", title, "font-weight=\"bold\"");
    text(margin, 50, 12, "#555555",
         std::to_string(plan.steps.size()) + " steps, staging memory " + readable_bytes(plan.staging_bytes) +
             "; an arrow means: begins when the other is complete");
    headers();
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      for (int before : plan.steps[i].after) arrow(places_[static_cast<std::size_t>(before)], places_[i]);
    for (const Column& column : columns_) boxes(column);
    out_ << "</svg>\n";
  }

  [[nodiscard]] std::string take() const { return out_.str(); }

 private:
  void text(int x, int y, int size, const char* colour, const std::string& words, const char* more = "") {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" font-size=\"" << size << "\" fill=\"" << colour << "\" " << more
         << '>' << escape(words) << "</text>\n";
  }

  void headers() {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = columns_[c];
      if (c > 0 && columns_[c - 1].style == column.style) continue;
      std::size_t last = c;
      while (last + 1 < columns_.size() && columns_[last + 1].style == column.style) ++last;
      const int end = columns_[last].x + box_width;
      out_ << "<path d=\"M" << column.x << ',' << header - 10 << " H" << end << "\" stroke=\"" << column.style->edge
           << "\" stroke-width=\"2\"/>\n";
      text(column.x, header - 28, 13, column.style->edge, name(column.style->stage), "font-weight=\"bold\"");
      text(column.x, header - 15, 9, column.style->edge, column.style->note);
    }
  }

  [[nodiscard]] static int top(std::size_t row) { return header + static_cast<int>(row) * row_height; }

  void arrow(Place from, Place to) {
    const int x0 = columns_[from.column].x + box_width;
    const int y0 = top(from.row) + box_height / 2;
    const int x1 = columns_[to.column].x;
    const int y1 = top(to.row) + box_height / 2;
    const int bend = column_gap * 2 / 3;
    out_ << "<path d=\"M" << x0 << ',' << y0 << " C" << x0 + bend << ',' << y0 << ' ' << x1 - bend << ',' << y1 << ' '
         << x1 - 1 << ',' << y1
         << "\" fill=\"none\" stroke=\"#999999\" stroke-width=\"1.1\" marker-end=\"url(#tip)\"/>\n";
  }

  void boxes(const Column& column) {
    const bool cut = column.steps.size() > rows_in_column;
    const std::size_t shown = cut ? rows_in_column - 1 : column.steps.size();
    for (std::size_t row = 0; row < shown; ++row) {
      const Step& step = plan_.steps[static_cast<std::size_t>(column.steps[row])];
      box(column, row, headline(step), detail(step), "#" + std::to_string(column.steps[row]),
          step.kind == StepKind::copy);
    }
    if (!cut) return;
    std::int64_t bytes = 0;
    for (std::size_t row = shown; row < column.steps.size(); ++row)
      bytes += bytes_of(plan_.steps[static_cast<std::size_t>(column.steps[row])]);
    box(column, shown, "and " + std::to_string(column.steps.size() - shown) + " more", readable_bytes(bytes), "", true);
  }

  void box(const Column& column, std::size_t row, const std::string& first, const std::string& second,
           const std::string& number, bool dashed) {
    const int y = top(row);
    out_ << "<rect x=\"" << column.x << "\" y=\"" << y << "\" width=\"" << box_width << "\" height=\"" << box_height
         << "\" rx=\"5\" fill=\"" << (dashed ? "#ffffff" : column.style->fill) << "\" stroke=\"" << column.style->edge
         << "\" stroke-width=\"1.2\"" << (dashed ? " stroke-dasharray=\"4 3\"" : "") << "/>\n";
    text(column.x + 9, y + 16, 12, "#111111", first, "font-weight=\"bold\"");
    text(column.x + 9, y + 30, 10, "#444444", second);
    text(column.x + box_width - 7, y + 31, 9, "#888888", number, "text-anchor=\"end\"");
  }

  const Plan& plan_;
  std::vector<Place> places_;
  std::vector<Column> columns_;
  std::ostringstream out_;
};

}  // namespace

std::string to_svg(const Plan& plan, const std::string& title) {
  return Picture(plan, title).take();
}

}  // namespace laneway

import { onContentUpdated, type Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { drawMeasuredTables } from "./measuredTables.ts";
import "./style.css";

export default {
  extends: DefaultTheme,
  setup() {
    onContentUpdated(() => {
      if (location.pathname.includes("/docs/design/measurements/")) drawMeasuredTables(document);
    });
  },
} satisfies Theme;

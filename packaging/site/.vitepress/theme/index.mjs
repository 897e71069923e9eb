import DefaultTheme from "vitepress/theme";
import "./narrow.css";

export default DefaultTheme;
